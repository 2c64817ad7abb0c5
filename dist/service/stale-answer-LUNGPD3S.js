import{b as o,c as r,d as m}from"./chunk-7LQ5BQDZ.js";import"./chunk-PQQHC2MM.js";import"./chunk-45JIP3S5.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
