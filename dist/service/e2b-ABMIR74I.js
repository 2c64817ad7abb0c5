import{a as o}from"./chunk-KYW6PMF7.js";import"./chunk-AQVW3PCY.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
