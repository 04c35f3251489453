"""Which method for one's own data: methods side by side (`compare`), and advice (`advise`)."""
