import{b as o,c as r,d as m}from"./chunk-FMN3TMM7.js";import"./chunk-4FGJ7X7I.js";import"./chunk-YYN2CSKF.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
