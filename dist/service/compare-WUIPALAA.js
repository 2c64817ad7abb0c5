import{k as o,l as r}from"./chunk-L4JXRXKU.js";import"./chunk-HE5UKLF5.js";import"./chunk-M5XCVGC4.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
