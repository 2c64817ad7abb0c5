import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-VX4YHT5W.js";import"./chunk-7WEW257G.js";import"./chunk-ECA3DFYX.js";import"./chunk-JAYV6KVY.js";import"./chunk-UZNZBEJ5.js";import"./chunk-YKBBMY7I.js";export{b as checkStaleness,c as checkStalenessByRuns,a as currentCitations};
