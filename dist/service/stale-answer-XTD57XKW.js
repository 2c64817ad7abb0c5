import{b as o,c as r,d as m}from"./chunk-OJDHEZZN.js";import"./chunk-LP5EPAZU.js";import"./chunk-3W3ZT7NF.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
