import{a as o}from"./chunk-EQXPWF5O.js";import"./chunk-ATTSFBWU.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
