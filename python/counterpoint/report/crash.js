"use strict";
(() => {
const page = JSON.parse(document.getElementById("page").textContent);

{% include "crash_window.js" +%}
})();
