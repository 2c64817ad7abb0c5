import{k as o,l as r}from"./chunk-ZSLVJPTZ.js";import"./chunk-CUUMCB6A.js";import"./chunk-NUHIZJOJ.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
