import{a as o}from"./chunk-K4T5QH63.js";import"./chunk-2YMWOJHW.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
