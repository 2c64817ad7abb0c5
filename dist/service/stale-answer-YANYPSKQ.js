import{b as o,c as r,d as m}from"./chunk-VRZE6RBW.js";import"./chunk-UFJXPI2I.js";import"./chunk-AQVW3PCY.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
