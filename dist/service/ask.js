import{db as a}from"./chunk-IMO3IOVU.js";import"./chunk-N2KG4B7V.js";export{a as default};
