import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/**", "build.mjs", "eslint.config.js"] },
  ...tseslint.configs.strict,
  ...tseslint.configs.stylistic,
  {
    rules: {
      // Text from data must never be read as HTML.
      "no-restricted-properties": ["error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "srcdoc"].map((property) => (
          { property, message: "Text from data must stay text: see dom.ts." }))],
      "no-eval": "error",
      "no-new-func": "error",
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
);
