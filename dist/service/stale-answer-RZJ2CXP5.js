import{b as o,c as r,d as m}from"./chunk-23UCOX2O.js";import"./chunk-P75F5K5K.js";import"./chunk-MSG57DMQ.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
