import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a}from"./chunk-L2S4P3NE.js";import"./chunk-FIYFBWCK.js";import"./chunk-NMJ5V2JZ.js";import"./chunk-WUXETO75.js";import"./chunk-4CP3HS2W.js";import"./chunk-YKBBMY7I.js";export{a as makeSandboxes};
