import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as t}from"./chunk-YKBBMY7I.js";var s=/^(?:none|null|undefined|empty|test|testing|dummy|example|placeholder|ollama|lm-studio|not-needed|no-key|unused|secret|password|changeme|x+|-+|\*+)$/i;var n=t(e=>e.length>=5&&!s.test(e),"isKey");export{n as a};
