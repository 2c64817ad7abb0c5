import{db as a}from"./chunk-45JIP3S5.js";import"./chunk-N2KG4B7V.js";export{a as default};
