import{k as o,l as r}from"./chunk-6J4JU4XH.js";import"./chunk-CB7FAU6J.js";import"./chunk-U6HCNZ3O.js";import"./chunk-N2KG4B7V.js";export{r as compareFrom,o as refuseSame};
