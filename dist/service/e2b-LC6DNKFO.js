import{a as o}from"./chunk-33BKQKBG.js";import"./chunk-45JIP3S5.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
