import{k as o,l as r}from"./chunk-RPHH6MIX.js";import"./chunk-MCHCONQ3.js";import"./chunk-2YMWOJHW.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
