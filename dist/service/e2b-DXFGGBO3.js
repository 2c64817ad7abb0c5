import{a as o}from"./chunk-LYSKX6WL.js";import"./chunk-IMO3IOVU.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
