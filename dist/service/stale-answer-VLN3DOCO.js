import{b as o,c as r,d as m}from"./chunk-5DXWWBSN.js";import"./chunk-52RDE5KX.js";import"./chunk-O4JON45Z.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
