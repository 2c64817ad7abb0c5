import{k as o,l as r}from"./chunk-WNTFBI36.js";import"./chunk-P75F5K5K.js";import"./chunk-MSG57DMQ.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
