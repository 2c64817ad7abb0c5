import{k as o,l as r}from"./chunk-4EUZN2RD.js";import"./chunk-LP5EPAZU.js";import"./chunk-3W3ZT7NF.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
