import{db as a}from"./chunk-YYN2CSKF.js";import"./chunk-N2KG4B7V.js";export{a as default};
