import{b as o,c as r,d as m}from"./chunk-VAKDGMR4.js";import"./chunk-UVVUU5GR.js";import"./chunk-IMO3IOVU.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
