import{k as o,l as r}from"./chunk-24UB3UZE.js";import"./chunk-PQQHC2MM.js";import"./chunk-45JIP3S5.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
