import{b as o,c as r,d as m}from"./chunk-4ZXQDQDC.js";import"./chunk-JS5XYULA.js";import"./chunk-JHM5AC63.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
