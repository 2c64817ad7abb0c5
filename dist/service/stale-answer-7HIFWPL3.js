import{b as o,c as r,d as m}from"./chunk-73N5CFEC.js";import"./chunk-CUUMCB6A.js";import"./chunk-NUHIZJOJ.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
