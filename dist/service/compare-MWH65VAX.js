import{k as o,l as r}from"./chunk-RMCNNECG.js";import"./chunk-JZ2Y2WWR.js";import"./chunk-ATTSFBWU.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
