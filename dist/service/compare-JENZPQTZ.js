import{k as o,l as r}from"./chunk-WDDZD57L.js";import"./chunk-JS5XYULA.js";import"./chunk-JHM5AC63.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
