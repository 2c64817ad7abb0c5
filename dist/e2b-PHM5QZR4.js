import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a}from"./chunk-ANGUCEKF.js";import"./chunk-MDTNPG3D.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as makeSandboxes};
