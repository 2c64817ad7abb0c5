import{b as o,c as r,d as m}from"./chunk-H6ZRACEA.js";import"./chunk-CB7FAU6J.js";import"./chunk-U6HCNZ3O.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
