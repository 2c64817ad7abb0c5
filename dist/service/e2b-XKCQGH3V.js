import{a as o}from"./chunk-4YCQX2SZ.js";import"./chunk-JHM5AC63.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
