import{k as o,l as r}from"./chunk-Z6N4TEMS.js";import"./chunk-RBDGRDZ6.js";import"./chunk-TXJ3TIEV.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
