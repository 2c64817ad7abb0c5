import{a as o}from"./chunk-SBHOWHVZ.js";import"./chunk-U6HCNZ3O.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
