import{k as o,l as r}from"./chunk-3SSVX5RM.js";import"./chunk-UFJXPI2I.js";import"./chunk-AQVW3PCY.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
