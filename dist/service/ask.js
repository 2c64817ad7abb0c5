import{db as a}from"./chunk-MSG57DMQ.js";import"./chunk-N2KG4B7V.js";export{a as default};
