// Draws the plots and starts the animation of a page that has one; a click on a plot moves the animation to that time.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("scene");
  let player = null;
  if (root) try {
    player = startScene(root, data.scene);
  } catch (error) {
    const note = document.createElement("div");
    note.className = "unavailable";
    note.textContent = `The animation cannot be shown: ${error.message}. Plots and figures do not need it.`;
    root.dataset.unavailable = error.message;
    root.querySelector("canvas").replaceWith(note);
    root.querySelector(".controls").remove();
  }
  const isNarrow = window.matchMedia("(max-width: 600px)").matches;  // where the bar would lie on the plot, and stay
  const options = { responsive: true, displaylogo: false, displayModeBar: isNarrow ? false : "hover", modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  for (const [key, figure] of Object.entries(data.figures)) {
    const element = document.getElementById(`plot-${key}`);
    const { data: traces, layout } = themed(figure);
    Plotly.newPlot(element, traces, layout, options).then(() => {
      element.dataset.drawn = "true";
      const isTime = (element.layout.xaxis.title.text || "").startsWith("time");
      if (player && isTime) element.on("plotly_click", event => player.seek(event.points[0].x));
    });
  }
})();
