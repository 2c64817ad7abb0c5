import{k as o,l as r}from"./chunk-6F4ND35Q.js";import"./chunk-4FGJ7X7I.js";import"./chunk-YYN2CSKF.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
