"""All tables that can be made again, by name."""

from __future__ import annotations

from reproduction.claims.experiments import TABLES as EXPERIMENTS
from reproduction.own.all_methods import ALL_METHODS
from reproduction.own.c45 import TABLE_C45, TABLE_MISSING, TABLE_MORE
from reproduction.own.distil import DISTIL, DISTIL_FRESH, DISTIL_LETTER
from reproduction.own.etct_clusters import TABLE as ETCT_CLUSTERS
from reproduction.own.hhcart_more import TABLE as HHCART_MORE
from reproduction.own.missing import MISSING
from reproduction.own.oc1_hhcart import TABLE as OC1_HHCART
from reproduction.own.repeated import TABLE_REPEATED
from reproduction.own.sadt import TABLE_SCHEDULES
from reproduction.papers.etct import TABLE_1 as ETCT_TABLE_1
from reproduction.papers.etct import TABLE_2 as ETCT_TABLE_2
from reproduction.papers.etct import TABLE_3 as ETCT_TABLE_3
from reproduction.papers.hhcart import TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_7
from reproduction.papers.oc1 import TABLE_1 as OC1_TABLE_1
from reproduction.papers.oc1 import TABLE_2 as OC1_TABLE_2
from reproduction.papers.odt import TABLE_1 as ODT_TABLE_1
from reproduction.papers.odt import TABLE_2 as ODT_TABLE_2
from reproduction.papers.odt import TABLE_CV as ODT_TABLE_CV
from reproduction.papers.odt import TABLE_CV_NODES as ODT_TABLE_CV_NODES
from reproduction.tables import PaperTable

__all__ = ["CLAIM_TABLES", "OWN_TABLES", "TABLES"]

#: The papers' tables and our own.
TABLES: dict[str, PaperTable] = {
    table.name: table
    for table in (
        TABLE_2,
        TABLE_3,
        TABLE_4,
        TABLE_5,
        TABLE_7,
        OC1_TABLE_1,
        OC1_TABLE_2,
        OC1_HHCART,
        HHCART_MORE,
        TABLE_REPEATED,
        TABLE_SCHEDULES,
        TABLE_C45,
        TABLE_MORE,
        TABLE_MISSING,
        ETCT_TABLE_1,
        ETCT_TABLE_2,
        ETCT_TABLE_3,
        ETCT_CLUSTERS,
        ODT_TABLE_1,
        ODT_TABLE_2,
        ODT_TABLE_CV,
        ODT_TABLE_CV_NODES,
        MISSING,
        DISTIL,
        DISTIL_LETTER,
        DISTIL_FRESH,
        ALL_METHODS,
        *EXPERIMENTS,
    )
}

#: Tables of our own by which the papers' conclusions are judged.
CLAIM_TABLES = (*EXPERIMENTS, ETCT_CLUSTERS)

#: Tables that no paper has: those without published figures, and some that put figures of
#: several tables side by side.
OWN_TABLES = frozenset(
    {name for name, table in TABLES.items() if not table.published}
    | {
        table.name
        for table in (OC1_HHCART, HHCART_MORE, TABLE_REPEATED, TABLE_SCHEDULES, TABLE_C45)
    }
)
