import{db as a}from"./chunk-O4JON45Z.js";import"./chunk-N2KG4B7V.js";export{a as default};
