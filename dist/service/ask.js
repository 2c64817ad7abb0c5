import{gb as a}from"./chunk-AQVW3PCY.js";import"./chunk-N2KG4B7V.js";export{a as default};
