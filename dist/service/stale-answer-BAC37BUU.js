import{b as o,c as r,d as m}from"./chunk-RKWSCWIR.js";import"./chunk-HE5UKLF5.js";import"./chunk-M5XCVGC4.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
