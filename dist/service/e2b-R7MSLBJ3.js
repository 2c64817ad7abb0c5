import{a as o}from"./chunk-CSG3JZYP.js";import"./chunk-TXJ3TIEV.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
