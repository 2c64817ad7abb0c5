import{gb as a}from"./chunk-JHM5AC63.js";import"./chunk-N2KG4B7V.js";export{a as default};
