import{k as o,l as r}from"./chunk-WPPRI4JS.js";import"./chunk-UVVUU5GR.js";import"./chunk-IMO3IOVU.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
