import{gb as a}from"./chunk-U6HCNZ3O.js";import"./chunk-N2KG4B7V.js";export{a as default};
