import{a as o}from"./chunk-VBXKRKB7.js";import"./chunk-MSG57DMQ.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
