import{b as o,c as r,d as m}from"./chunk-CW3U2ETG.js";import"./chunk-MCHCONQ3.js";import"./chunk-2YMWOJHW.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
