import{b as o,c as r,d as m}from"./chunk-5AYISRAS.js";import"./chunk-JZ2Y2WWR.js";import"./chunk-ATTSFBWU.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
