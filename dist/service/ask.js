import{db as a}from"./chunk-3W3ZT7NF.js";import"./chunk-N2KG4B7V.js";export{a as default};
