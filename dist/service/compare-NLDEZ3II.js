import{k as o,l as r}from"./chunk-D3XTNRGP.js";import"./chunk-52RDE5KX.js";import"./chunk-O4JON45Z.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
